import type { McpServer, ToolCallback } from '@modelcontextprotocol/sdk/server/mcp.js'
import type { CallToolResult, ToolAnnotations } from '@modelcontextprotocol/sdk/types.js'
import { z } from 'zod'
import { codeOf } from '../exit.ts'
import { ServiceRefusal } from '../failure.ts'
import type { McpContext } from './context.ts'
import { visible, visibleLines, visibleWithin } from './untrusted.ts'

/** What a tool says: to programs, by its output schema, and to people. */
interface Said<T> {
  readonly data: T
  readonly text: string
}

interface ToolDefinition<I extends z.ZodObject, O extends z.ZodObject> {
  readonly name: string
  readonly title: string
  /** For the model: when to use it, what it gives, what it never does. */
  readonly description: string
  readonly annotations: ToolAnnotations
  readonly input: I
  readonly output: O
  run(args: z.output<I>, context: McpContext): Said<z.output<O>> | Promise<Said<z.output<O>>>
}

/** Makes a tool known to a server. */
export type Tool = (server: McpServer, context: McpContext) => void

/** A tool. Whatever it throws becomes a result that is an error, with a code and in words. */
export function defineTool<I extends z.ZodObject, O extends z.ZodObject>(
  tool: ToolDefinition<I, O>,
): Tool {
  const { name, title, description, annotations, input, output } = tool
  return (server, context) => {
    const call = async (args: z.output<I>): Promise<CallToolResult> => {
      try {
        const { data, text } = await tool.run(args, context)
        return {
          content: [{ type: 'text', text: visibleLines(text) }],
          structuredContent: visibleWithin(data),
        }
      } catch (error) {
        return { content: [{ type: 'text', text: wordsOf(error, context) }], isError: true }
      }
    }
    server.registerTool(
      name,
      { title, description, annotations, inputSchema: input, outputSchema: output },
      call as ToolCallback<I>,
    )
  }
}

/** The arguments of a tool, and no others. The refusal of others does not repeat them: a token could be among them. */
export function argumentsOf<T extends z.ZodRawShape>(shape: T) {
  return z.strictObject(shape, {
    error: ({ code }) =>
      code === 'unrecognized_keys'
        ? `unknown arguments; known are: ${Object.keys(shape).join(', ') || 'none'}`
        : undefined,
  })
}

/** An agent, as a model names it. */
export const agentReference = () =>
  z
    .string()
    .min(1)
    .max(200)
    .describe(
      'The agent: its full DID (a short name, :agent: and 24 base58 characters), those 24 characters alone, or its public key (32 bytes in padded standard base64).',
    )

/** What every tool does that asks the service and changes nothing. */
export const READS: ToolAnnotations = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: true,
}

/** What a model can do about an error, where the message does not say. */
const NEXT_STEP: Readonly<Record<string, string>> = {
  NO_KEY: 'The tool claim makes a key as well, when it redeems a token that the owner has issued.',
  KEY_ALREADY_CLAIMED:
    'Trying again does not help: whoami tells what this key is, and the owner may choose another agentId.',
  TOKEN_EXPIRED: 'Ask the owner for a fresh token.',
  UNREACHABLE: 'Nothing was sent. Trying again later is safe.',
}

function wordsOf(error: unknown, context: McpContext): string {
  const code = codeOf(error)
  const hint = NEXT_STEP[code] === undefined ? '' : `\n${NEXT_STEP[code]}`
  return `${code}: ${messageOf(error, context)}${requestOf(error)}${hint}`
}

/** Of what is none of our errors, the operator reads more than the model: nobody knows what stands in it. */
function messageOf(error: unknown, context: McpContext): string {
  const message = visible(error instanceof Error ? error.message : String(error))
  if (codeOf(error) !== 'FAILURE') return message
  context.log(message)
  return 'Something went wrong on this machine. The log of countersign mcp, its standard error, says what.'
}

function requestOf(error: unknown): string {
  if (error instanceof ServiceRefusal) return ` (request ${visible(error.requestId)})`
  const cause = error instanceof Error ? error.cause : undefined
  return cause === undefined ? '' : requestOf(cause)
}
