import {
  type Page,
  type Perspective,
  ProofAbsent,
  Unreachable,
} from '../../core/network/perspective.ts'
import { expiryFault } from './expiry.ts'
import type { ChannelKind, Found, Proof, Wanted } from './kind.ts'
import { DOMAIN_FIELD, parseDomain } from './names.ts'

/** A domain whose DNS or whose web server names the agent. */
export const domain: ChannelKind = {
  id: 'domain',
  label: 'Domain',
  tier: 2,
  chat: false,
  proves: 'Whoever runs this domain says that the agent is theirs.',
  field: DOMAIN_FIELD,
  freshForMs: 90 * 24 * 3_600_000,
  parse: parseDomain,
  link: (handle) => `https://${handle}/`,
  methods: (proof) => [
    {
      id: 'dns',
      title: 'DNS record',
      step: 'Add a TXT record where the DNS of the domain is kept. Others of this name may stand beside it.',
      fields: [
        { label: 'Name', value: recordName(proof), multiline: false },
        { label: 'Type', value: 'TXT', multiline: false },
        { label: 'Value', value: challengeLine(proof), multiline: false },
      ],
    },
    {
      id: 'file',
      title: 'File on the web server',
      step: 'Publish a text file at this address, with this line in it. Lines for other agents may stand beside it.',
      fields: [
        { label: 'Address', value: fileUrl(proof).href, multiline: false },
        { label: 'Line', value: challengeLine(proof), multiline: false },
      ],
    },
  ],
  check: { agreement: 'most', look },
}

const PLACES = [
  { method: 'dns', find: findRecord },
  { method: 'file', find: findFile },
] as const

/** Either place is enough; that there is no proof takes both to say so. */
async function look(from: Perspective, wanted: Wanted): Promise<Found> {
  const { provenBy } = wanted
  const misses: (ProofAbsent | Unreachable)[] = []
  for (const { method, find } of PLACES) {
    if (provenBy !== null && provenBy !== method) continue
    try {
      return { method, detail: await find(from, wanted) }
    } catch (error) {
      if (!(error instanceof ProofAbsent || error instanceof Unreachable)) throw error
      misses.push(error)
    }
  }
  const detail = misses.map(({ message }) => message).join(' ')
  throw misses.every((miss) => miss instanceof ProofAbsent)
    ? new ProofAbsent(detail)
    : new Unreachable(detail)
}

async function findRecord(from: Perspective, wanted: Wanted): Promise<string> {
  const name = recordName(wanted.proof)
  requireLine(await from.txt(name), wanted, `The TXT records at ${name}`)
  return `A TXT record at ${name} holds the token of this channel.`
}

async function findFile(from: Perspective, wanted: Wanted): Promise<string> {
  const url = fileUrl(wanted.proof)
  const { text } = await fetchWellKnown(from, url, 'text/plain')
  requireLine(text.replace(/^\ufeff/, '').split(/\r?\n/), wanted, `The lines at ${url}`)
  return `A line at ${url} holds the token of this channel.`
}

function recordName({ naming, handle }: Proof): string {
  return `_${naming.shortName}-challenge.${handle}`
}

function fileUrl({ naming, handle }: Proof): URL {
  return wellKnownUrl(handle, `${naming.shortName}-challenge.txt`)
}

/**
 * The line that proves a domain: token, DID and expiry as fields of key and value, after
 * draft-ietf-dnsop-domain-verification-techniques. Others may stand beside it, for other agents.
 */
function challengeLine({ token, did, expiresAt }: Proof): string {
  return `token=${token} did=${did} expiry=${new Date(expiresAt).toISOString()}`
}

/**
 * Looks for the line among those that stand at a place.
 * @param place in words that `hold` can follow
 * @throws ProofAbsent which says what stands there instead
 */
function requireLine(lines: readonly string[], wanted: Wanted, place: string): void {
  const { token, did } = wanted.proof
  const found = lines.map(fieldsOf).filter((fields) => fields !== null)
  const ours = found.filter((fields) => fields.get('token') === token)
  const named = ours.filter((fields) => fields.get('did') === did)
  const faults = named.map((fields) => faultOf(fields.get('expiry'), wanted))
  if (faults.includes(null)) return
  throw new ProofAbsent(`${place} hold ${describe()}.`)

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

/** The address of what a domain publishes about itself (RFC 8615). */
export function wellKnownUrl(domain: string, name: string): URL {
  return new URL(`https://${domain}/.well-known/${name}`)
}

/**
 * Fetches it.
 * @throws ProofAbsent where the domain says that there is nothing, Unreachable where it says anything else
 */
export async function fetchWellKnown(from: Perspective, url: URL, accept: string): Promise<Page> {
  const page = await from.get(url, accept)
  if (page.status === 200) return page
  const answer = `${url} answers ${page.status}.`
  throw page.status === 404 || page.status === 410
    ? new ProofAbsent(answer)
    : new Unreachable(answer)
}
