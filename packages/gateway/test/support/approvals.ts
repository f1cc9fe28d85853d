import { PURCHASE } from '../../../../test/support/approval-token.ts'
import type { PolicyInput } from '../../src/policy/policy.ts'
import { type OfflineAgent, signed, type Tokens } from './offline.ts'
import { SHOP } from './signing.ts'

/** Each request to `/orders` needs an approval. */
export const NEEDS_APPROVAL: PolicyInput = { routes: [{ path: '/orders', approval: {} }] }

/** A signed request with an approval; without one, if it is null. */
export function withApproval(
  agent: OfflineAgent,
  tokens: Tokens,
  approval: string | null,
  { url = `${SHOP}/orders`, ...init }: RequestInit & { readonly url?: string } = PURCHASE,
): Promise<Request> {
  const headers = new Headers(init.headers)
  if (approval !== null) headers.set('ServiceID-Approval', approval)
  return signed(agent, tokens, { ...init, headers }, 'ServiceID', url)
}
