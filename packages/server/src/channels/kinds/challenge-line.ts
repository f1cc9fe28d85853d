import { NotThere } from '../../core/network/perspective.ts'
import { expiryFault } from './expiry.ts'
import type { Proof, Wanted } from './kind.ts'

/**
 * The line that proves a domain: token, DID and expiry as fields of key and value, after
 * draft-ietf-dnsop-domain-verification-techniques. Others may stand beside it, for other agents.
 */
export function challengeLine({ token, did, expiresAt }: Proof): string {
  return `token=${token} did=${did} expiry=${new Date(expiresAt).toISOString()}`
}

/**
 * Looks for the line among those that stand at a place.
 * @param place in words that `hold` can follow
 * @throws NotThere which says what stands there instead
 */
export function requireLine(lines: readonly string[], wanted: Wanted, place: string): void {
  const { token, did } = wanted.proof
  const found = lines.map(fieldsOf).filter((fields) => fields !== null)
  const ours = found.filter((fields) => fields.get('token') === token)
  const named = ours.filter((fields) => fields.get('did') === did)
  const faults = named.map((fields) => faultOf(fields.get('expiry'), wanted))
  if (faults.includes(null)) return
  throw new NotThere(`${place} hold ${describe()}.`)

  function describe(): string {
    if (named.length > 0) return `the token of this channel ${faults[0]}`
    if (ours.length > 0) return 'the token of this channel, but with the DID of another agent'
    if (found.some((fields) => fields.get('did') === did)) return 'another token for this agent'
    if (found.length > 0) return 'nothing for this agent, but for others'
    return 'no line such as token=… did=… expiry=…'
  }
}

function faultOf(expiry: string | undefined, { provenBy, now }: Wanted): string | null {
  return provenBy === null ? expiryFault(expiry, now) : null
}

/** The fields of a line, or null where it is no such line. A field that is there twice says two things. */
function fieldsOf(line: string): ReadonlyMap<string, string> | null {
  const fields = new Map<string, string>()
  for (const word of line.trim().split(/\s+/)) {
    const [key = '', value] = word.split(/=(.*)/s)
    if (value === undefined || fields.has(key)) return null
    fields.set(key, value)
  }
  return fields.has('token') && fields.has('did') ? fields : null
}
