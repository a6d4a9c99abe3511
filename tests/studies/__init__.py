"""The scripts behind figures of the documents."""
