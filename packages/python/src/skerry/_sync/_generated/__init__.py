# Made of the asynchronous half by setup/write-clients.ts. Do not edit.
