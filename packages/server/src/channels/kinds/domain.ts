import {
  type Page,
  type Perspective,
  ProofAbsent,
  Unreachable,
} from '../../http/outbound/perspective.ts'
import type { ChannelKind, FoundProof, Proof, ProofQuery } from './kind.ts'
import { DOMAIN_FIELD, parseDomain } from './parse-handle.ts'

/** A domain that names the agent in a DNS record or in a file on its web server. */
export const domain: ChannelKind = {
  id: 'domain',
  label: 'Domain',
  tier: 2,
  chat: false,
  proves: 'The domain publishes that this agent belongs to it.',
  field: DOMAIN_FIELD,
  freshForMs: 90 * 24 * 3_600_000,
  parse: parseDomain,
  link: (handle) => `https://${handle}/`,
  methods: (proof) => [
    {
      id: 'dns',
      title: 'DNS record',
      step: 'Add a TXT record to the DNS of the domain. Other records of this name can stay.',
      fields: [
        { label: 'Name', value: recordName(proof), multiline: false },
        { label: 'Type', value: 'TXT', multiline: false },
        { label: 'Value', value: challengeLine(proof), multiline: false },
      ],
    },
    {
      id: 'file',
      title: 'File on the web server',
      step: 'Publish a text file with this line at this address. Lines for other agents can stay.',
      fields: [
        { label: 'Address', value: fileUrl(proof).href, multiline: false },
        { label: 'Line', value: challengeLine(proof), multiline: false },
      ],
    },
  ],
  check: { agreement: 'most', observe },
}

const METHODS = [
  { method: 'dns', find: findRecord },
  { method: 'file', find: findFile },
] as const

/** Either method is enough. The proof is absent only if both methods say so. */
async function observe(from: Perspective, query: ProofQuery): Promise<FoundProof> {
  const { provenBy } = query
  const misses: (ProofAbsent | Unreachable)[] = []
  for (const { method, find } of METHODS) {
    if (provenBy !== null && provenBy !== method) continue
    try {
      return { method, detail: await find(from, query) }
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

async function findRecord(from: Perspective, query: ProofQuery): Promise<string> {
  const name = recordName(query.proof)
  assertLinePresent(await from.txt(name), query, `The TXT records at ${name}`)
  return `A TXT record at ${name} holds the token of this channel.`
}

async function findFile(from: Perspective, query: ProofQuery): Promise<string> {
  const url = fileUrl(query.proof)
  const { text } = await fetchWellKnown(from, url, 'text/plain')
  assertLinePresent(text.replace(/^\ufeff/, '').split(/\r?\n/), query, `The lines at ${url}`)
  return `A line at ${url} holds the token of this channel.`
}

function recordName({ naming, handle }: Proof): string {
  return `_${naming.shortName}-challenge.${handle}`
}

function fileUrl({ naming, handle }: Proof): URL {
  return wellKnownUrl(handle, `${naming.shortName}-challenge.txt`)
}

/**
 * The line that proves a domain: token, DID and expiry as `key=value` fields, following
 * draft-ietf-dnsop-domain-verification-techniques. A domain may hold lines for several agents.
 */
function challengeLine({ token, did, expiresAt }: Proof): string {
  return `token=${token} did=${did} expiry=${new Date(expiresAt).toISOString()}`
}

/**
 * Asserts that one of the lines is the proof.
 * @param place the subject of the error's sentence, in the plural: "The lines at …"
 * @throws ProofAbsent which says what was found instead
 */
function assertLinePresent(lines: readonly string[], query: ProofQuery, place: string): void {
  const { token, did } = query.proof
  const found = lines.map(parseFields).filter((fields) => fields !== null)
  const ours = found.filter((fields) => fields.get('token') === token)
  const named = ours.filter((fields) => fields.get('did') === did)
  const problems = named.map((fields) => problemOf(fields.get('expiry'), query))
  if (problems.includes(null)) return
  throw new ProofAbsent(`${place} hold ${describe()}.`)

  function describe(): string {
    if (named.length > 0) return `the token of this channel ${problems[0]}`
    if (ours.length > 0) return 'the token of this channel, but with the DID of another agent'
    if (found.some((fields) => fields.get('did') === did)) return 'another token for this agent'
    if (found.length > 0) return 'nothing for this agent, but for others'
    return 'no line such as token=… did=… expiry=…'
  }
}

function problemOf(expiry: string | undefined, { provenBy, now }: ProofQuery): string | null {
  return provenBy === null ? expiryProblem(expiry, now) : null
}

/** Parses the fields of a line. Returns null if it is not a proof line; a duplicate field makes it ambiguous. */
function parseFields(line: string): ReadonlyMap<string, string> | null {
  const fields = new Map<string, string>()
  for (const word of line.trim().split(/\s+/)) {
    const [key = '', value] = word.split(/=(.*)/s)
    if (value === undefined || fields.has(key)) return null
    fields.set(key, value)
  }
  return fields.has('token') && fields.has('did') ? fields : null
}

/** The well-known URL of a name under a domain (RFC 8615). */
export function wellKnownUrl(domain: string, name: string): URL {
  return new URL(`https://${domain}/.well-known/${name}`)
}

/**
 * Fetches a well-known URL.
 * @param accept the value of the `Accept` header
 * @throws ProofAbsent if the domain answers 404 or 410, Unreachable for any other failure
 */
export async function fetchWellKnown(from: Perspective, url: URL, accept: string): Promise<Page> {
  const page = await from.get(url, accept)
  if (page.status === 200) return page
  const answer = `${url} answers ${page.status}.`
  throw page.status === 404 || page.status === 410
    ? new ProofAbsent(answer)
    : new Unreachable(answer)
}

const RFC_3339 =
  /^(\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i

/**
 * Checks the expiry that a proof carries.
 * @param now milliseconds since 1970
 * @returns null if the expiry is valid and in the future, otherwise what is wrong, such as "without an expiry"
 */
export function expiryProblem(expiry: unknown, now: number): string | null {
  if (typeof expiry !== 'string') return 'without an expiry'
  const time = parseTime(expiry)
  if (time === null) return 'with an expiry that is no RFC 3339 time'
  return time > now ? null : 'with an expiry that has passed'
}

/**
 * Parses a time of RFC 3339. `Date` accepts days that do not exist, such as 30 February; this returns null for them.
 * @returns milliseconds since 1970, or null
 */
function parseTime(text: string): number | null {
  const date = RFC_3339.exec(text)?.[1]
  if (date === undefined) return null
  const midnight = new Date(`${date}T00:00:00Z`)
  return midnight.toISOString().startsWith(date) ? Date.parse(text.toUpperCase()) : null
}
