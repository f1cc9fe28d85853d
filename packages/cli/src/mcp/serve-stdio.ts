import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import type { McpContext } from './context.ts'
import { buildMcpServer } from './server.ts'
import { untilSignalled } from './until-signalled.ts'

/**
 * Serves one host over standard input and output, which carries nothing but protocol.
 * @returns once the host has closed standard input, is gone, or the process has been told to end
 */
export async function serveStdio(context: McpContext): Promise<void> {
  const server = buildMcpServer(context)
  const ended = new Promise<void>((resolve) => {
    process.stdin.once('end', resolve).once('close', resolve)
    // Whoever reads is gone; without a listener this would end in a stack trace.
    process.stdout.on('error', () => resolve())
    server.server.onclose = resolve
  })
  // Each answer that waits for a slow reader listens for its turn.
  process.stdout.setMaxListeners(0)
  await server.connect(new StdioServerTransport())
  const signalled = await Promise.race([ended.then(() => false), untilSignalled().then(() => true)])
  // A host that has only closed its side still gets the answers to what it has asked.
  if (!signalled) return
  await server.close()
  process.stdin.destroy()
}
