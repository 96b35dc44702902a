"""Commands of the 2D Minecraft world."""
