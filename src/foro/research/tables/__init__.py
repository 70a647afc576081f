"""Tables as Markdown, CSV, pictures and HTML, and the report of a folder of results."""
