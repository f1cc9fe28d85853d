/** Tools for the AI SDK (`ai`). */
import { type Tool, tool } from 'ai'
import type { Agent } from './agent.ts'
import { boundTools } from './tools/agent-host.ts'
import type { ToolOptions } from './tools/tool-options.ts'

/**
 * The tools of `countersign mcp` for the AI SDK: `generateText({ tools: toTools(agent), … })`. The model never sees the key, and requests
 * go to the agent's `audiences` only.
 * @returns tools by their names
 */
export function toTools(agent: Agent, options: ToolOptions = {}): Record<string, Tool> {
  return Object.fromEntries(
    boundTools(agent, options).map(({ name, title, description, annotations, input, call }) => [
      name,
      tool({
        title,
        description,
        inputSchema: input,
        execute: (args: unknown) => call(args),
        metadata: { annotations: { ...annotations } },
      }),
    ]),
  )
}

export type { ToolOptions }
