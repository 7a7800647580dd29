// A target of precompiled headers alone has a source, though there is no code to compile.
