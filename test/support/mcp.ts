import { type CallToolResult, Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { GPU } from './cli/gpu.js';
import { type Env, folder } from './process.js';

/** A separate `gpu mcp` process with the protocol's official client. */
export interface Assistant {
  client: Client;
  /** Calls a tool and returns its data. Throws if the call is refused. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  call(name: string, args?: Record<string, unknown>): Promise<any>;
  /** Calls a tool and returns the error message. Throws if the call succeeds. */
  refused(name: string, args?: Record<string, unknown>): Promise<string>;
  /** Everything that the process has written to both output streams. */
  transcript(): string;
  close(): Promise<void>;
}

export async function openAssistant(env: Env, args: string[] = []): Promise<Assistant> {
  let said = '';
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [GPU, 'mcp', ...args],
    env: { PATH: process.env.PATH ?? '/usr/bin:/bin', HOME: folder(), ...env },
    stderr: 'pipe',
  });
  transport.stderr!.on('data', (text) => {
    said += text;
  });
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(transport);
  const callTool = async (name: string, args_: Record<string, unknown> = {}): Promise<CallToolResult> => {
    const result = (await client.callTool({ name, arguments: args_ })) as CallToolResult;
    said += JSON.stringify(result);
    return result;
  };
  return {
    client,
    call: async (name, args_) => {
      const { isError, structuredContent, content } = await callTool(name, args_);
      if (isError) throw new Error(JSON.stringify(content));
      return structuredContent;
    },
    refused: async (name, args_) => {
      const { isError, content } = await callTool(name, args_);
      const [first] = content;
      if (!isError || first?.type !== 'text') throw new Error(`${name} is not refused: ${JSON.stringify(content)}`);
      return first.text;
    },
    transcript: () => said,
    close: () => client.close(),
  };
}
