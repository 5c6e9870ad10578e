"""The one SQL layer: engines, types, upserts, migrations. The only package that knows SQL dialects exist."""
