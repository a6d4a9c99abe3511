"""What commands draw: boards, games step by step, what a player thought; for a terminal and as plain text."""
