from tongs import ToolRegistry

registry = ToolRegistry()
registry.register(MyTool())
