/** Tools for LangChain (`@langchain/core`). */
import { type DynamicStructuredTool, tool } from '@langchain/core/tools'
import type { Agent } from './agent.ts'
import { boundTools } from './tools/agent-host.ts'
import type { ToolOptions } from './tools/tool-options.ts'

/**
 * The tools of `countersign mcp` for LangChain: `createAgent({ tools: toTools(agent), … })`. The model never sees the key, and requests go
 * to the agent's `audiences` only.
 */
export function toTools(agent: Agent, options: ToolOptions = {}): DynamicStructuredTool[] {
  return boundTools(agent, options).map(({ name, description, annotations, input, call }) =>
    tool(call, { name, description, schema: input, metadata: { annotations } }),
  )
}

export type { ToolOptions }
