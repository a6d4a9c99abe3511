"""Scripts behind figures in docs/results: each is run as `python -m studies.NAME` and says what it measures."""
