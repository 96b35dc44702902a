"""Pictures of the world for people: `picture` draws PNG and GIF files, `terminal` draws with coloured text.

Both draw a `snapshot.Snapshot`, which knows neither the world nor any agent. Importing this package imports
neither PIL nor rich; import the module that is wanted:

    from program_guided.tasks.minecraft.pictures.picture import save_gif
"""
