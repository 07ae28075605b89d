"""The adapters over a log with the oldest and the newest versions of their frameworks."""
