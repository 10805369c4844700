"""The store: Postgres, migrations, walls, blobs. Nothing here decides about documents."""
