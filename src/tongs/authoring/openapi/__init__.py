"""From an OpenAPI document to the manifest of an http tool (`tongs tool import`).

document     the document: read, checked by a library, its local references followed
schemas      its schemas as JSON Schema 2020-12
inputs       parameters and the body as inputs, and where their values go
manifest     the manifest of one operation, and what could not be carried over
"""
