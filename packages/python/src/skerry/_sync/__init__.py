# Made of ../_async by setup/write-python-client.ts. Do not edit.
