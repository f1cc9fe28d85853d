import type { ToolDefinition } from './define-tool.ts'
import { claim } from './definitions/claim.ts'
import { explainGrade } from './definitions/explain-grade.ts'
import { fetchSite } from './definitions/fetch.ts'
import { lookupAgent } from './definitions/lookup-agent.ts'
import { rotateKey } from './definitions/rotate-key.ts'
import { showCard } from './definitions/show-card.ts'
import { signChallenge } from './definitions/sign-challenge.ts'
import { signIn } from './definitions/sign-in.ts'
import { verifyAgent } from './definitions/verify-agent.ts'
import { whoami } from './definitions/whoami.ts'

/** The tools of an agent, in the order in which they are listed: of `countersign mcp` and of `toTools`. */
export const ALL_TOOLS: readonly ToolDefinition[] = [
  claim,
  whoami,
  showCard,
  signChallenge,
  fetchSite,
  signIn,
  rotateKey,
  lookupAgent,
  verifyAgent,
  explainGrade,
]
