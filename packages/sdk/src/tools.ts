/** For this repository alone: the tools that `countersign mcp` and the adapters share. */
export { ALL_TOOLS } from './tools/all-tools.ts'
export {
  callTool,
  type ToolDefinition,
  type ToolHost,
} from './tools/define-tool.ts'
export { IssuedChallenges } from './tools/issued-challenges.ts'
export { APPROVAL_WAIT_MS } from './tools/tool-options.ts'
