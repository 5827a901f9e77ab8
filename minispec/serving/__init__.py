"""An HTTP server in front of the batched engine: OpenAI's completions, and what speculation did, live.

The web side (FastAPI, uvicorn) runs in one event loop. The models belong to one other thread, which steps the engine;
the two hand each other requests and events through a queue. Nothing here decodes.
"""
