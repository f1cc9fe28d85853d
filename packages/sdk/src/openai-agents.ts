/** Tools for the OpenAI Agents SDK (`@openai/agents`). */
import { type FunctionTool, tool } from '@openai/agents'
import { z } from 'zod'
import type { Agent } from './agent.ts'
import { boundTools } from './tools/agent-host.ts'
import type { ToolAnnotations, ToolOptions } from './tools/tool-options.ts'

/** A tool, with what it does. */
export type AgentTool = FunctionTool & { readonly annotations: ToolAnnotations }

/**
 * The tools of `countersign mcp` for the OpenAI Agents SDK: `new Agent({ tools: toTools(agent), … })`. The model never sees the key, and
 * requests go to the agent's `audiences` only.
 */
export function toTools(agent: Agent, options: ToolOptions = {}): AgentTool[] {
  return boundTools(agent, options).map(({ name, description, annotations, input, call }) => {
    // Not strict: OpenAI's strict schemas have no optional arguments. The tool itself checks them. zod marks its schemas as its own,
    // for which this SDK takes strict ones only.
    const parameters = JSON.parse(JSON.stringify(z.toJSONSchema(input, { io: 'input' })))
    const made: FunctionTool = tool({ name, description, parameters, strict: false, execute: call })
    return Object.assign(made, { annotations })
  })
}

export type { ToolAnnotations, ToolOptions }
