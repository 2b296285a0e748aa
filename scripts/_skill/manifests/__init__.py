"""File manifests: names, sizes and SHA-256 digests of a file or a folder, and archives listed without unpacking."""
