"""Games on disk and what is counted from them: the archive, its verification, ratings.

Nothing here plays; how games are played is in `penumbra.arena`.
"""
