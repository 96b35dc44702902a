"""Pictures of the world: `picture` draws PNG and GIF files, `terminal` draws with coloured text.

Both draw a `snapshot.Snapshot`, which depends neither on the world nor on any agent. Importing this package imports
neither PIL nor rich; import the module that is needed:

    from program_guided.tasks.minecraft.pictures.picture import save_gif
"""
