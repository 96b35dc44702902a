"""The embedded world of pictures: its vocabulary, scenes, questions, detections and files.

The files have the formats of the release.
"""
