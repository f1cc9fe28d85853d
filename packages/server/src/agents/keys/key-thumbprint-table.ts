import { hash } from 'node:crypto'
import { jwkOf } from '@countersign/protocol'
import type { AgentRow, Db } from '../../database/database.ts'
import { prepared } from '../../database/prepared.ts'

/** The JWK thumbprint of a key (RFC 7638) as 32 bytes. Takes a third of the time of `keyThumbprint`, which runs anywhere. */
export function thumbprintBytes(publicKey: Uint8Array): Uint8Array {
  const { crv, kty, x } = jwkOf(publicKey)
  return hash('sha256', JSON.stringify({ crv, kty, x }), 'buffer')
}

/** What a lookup by thumbprint reads of an agent. */
export type AgentOfKey = Pick<AgentRow, 'tail' | 'public_key' | 'status' | 'claimed_at'>

const selectAgents = prepared<{ thumbprint: Uint8Array; limit: number }, AgentOfKey>((db, param) =>
  db
    .selectFrom('agents')
    .select(['tail', 'public_key', 'status', 'claimed_at'])
    .where('key_thumbprint', '=', param('thumbprint'))
    .where('status', '!=', 'revoked')
    .orderBy('status')
    .orderBy('seq')
    .limit(param('limit')),
)

/** The agents with this current key that are not revoked: active ones first, then in the order of their claims. */
export function agentsOfThumbprint(
  db: Db,
  thumbprint: Uint8Array,
  limit: number,
): Promise<AgentOfKey[]> {
  return selectAgents(db, { thumbprint, limit })
}
