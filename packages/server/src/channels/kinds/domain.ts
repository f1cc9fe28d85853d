import {
  type Page,
  type Perspective,
  ProofAbsent,
  Unreachable,
} from '../../http/outbound/perspective.ts'
import type { ChannelKind, FoundProof, PlacedProof, Proof, ProofCheck, ProofQuery } from './kind.ts'
import { DOMAIN_FIELD, parseDomain } from './parse-handle.ts'

/** Whom the line on a domain names. */
export interface NamedSubject<P> {
  /** The field of the line that names the subject. */
  readonly field: 'did' | 'organisation'
  readonly idOf: (proof: P) => string
  /** What the token belongs to: "this channel". */
  readonly holder: string
  /** The subject for the owner: "agent". */
  readonly noun: string
}

/** How a domain proves that it belongs to a subject: by a line in a DNS record, or in a file on its web server. */
export interface DomainChallenge<P extends PlacedProof> {
  readonly line: (proof: P) => string
  /** The name of the TXT record. */
  readonly recordName: (proof: P) => string
  readonly fileUrl: (proof: P) => URL
  readonly check: ProofCheck<P>
}

const METHODS = [
  { method: 'dns', find: findRecord },
  { method: 'file', find: findFile },
] as const

export function domainChallenge<P extends PlacedProof>(
  subject: NamedSubject<P>,
): DomainChallenge<P> {
  return {
    line: (proof) => challengeLine(subject, proof),
    recordName,
    fileUrl,
    check: { agreement: 'most', observe: (from, query) => observe(subject, from, query) },
  }
}

const agentChallenge = domainChallenge<Proof>({
  field: 'did',
  idOf: ({ did }) => did,
  holder: 'this channel',
  noun: 'agent',
})

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
        { label: 'Value', value: agentChallenge.line(proof), multiline: false },
      ],
    },
    {
      id: 'file',
      title: 'File on the web server',
      step: 'Publish a text file with this line at this address. Lines for other agents can stay.',
      fields: [
        { label: 'Address', value: fileUrl(proof).href, multiline: false },
        { label: 'Line', value: agentChallenge.line(proof), multiline: false },
      ],
    },
  ],
  check: agentChallenge.check,
}

/** Either method is enough. The proof is absent only if both methods say so. */
async function observe<P extends PlacedProof>(
  subject: NamedSubject<P>,
  from: Perspective,
  query: ProofQuery<P>,
): Promise<FoundProof> {
  const { provenBy } = query
  const misses: (ProofAbsent | Unreachable)[] = []
  for (const { method, find } of METHODS) {
    if (provenBy !== null && provenBy !== method) continue
    try {
      return { method, detail: await find(subject, from, query) }
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

async function findRecord<P extends PlacedProof>(
  subject: NamedSubject<P>,
  from: Perspective,
  query: ProofQuery<P>,
): Promise<string> {
  const name = recordName(query.proof)
  assertLinePresent(subject, await from.txt(name), query, `The TXT records at ${name}`)
  return `A TXT record at ${name} holds the token of ${subject.holder}.`
}

async function findFile<P extends PlacedProof>(
  subject: NamedSubject<P>,
  from: Perspective,
  query: ProofQuery<P>,
): Promise<string> {
  const url = fileUrl(query.proof)
  const { text } = await fetchWellKnown(from, url, 'text/plain')
  const lines = text.replace(/^\ufeff/, '').split(/\r?\n/)
  assertLinePresent(subject, lines, query, `The lines at ${url}`)
  return `A line at ${url} holds the token of ${subject.holder}.`
}

function recordName({ naming, handle }: PlacedProof): string {
  return `_${naming.shortName}-challenge.${handle}`
}

function fileUrl({ naming, handle }: PlacedProof): URL {
  return wellKnownUrl(handle, `${naming.shortName}-challenge.txt`)
}

/**
 * The line that proves a domain: token, subject and expiry as `key=value` fields, following
 * draft-ietf-dnsop-domain-verification-techniques. A domain may hold lines for several agents and organisations.
 */
function challengeLine<P extends PlacedProof>({ field, idOf }: NamedSubject<P>, proof: P): string {
  const expiry = new Date(proof.expiresAt).toISOString()
  return `token=${proof.token} ${field}=${idOf(proof)} expiry=${expiry}`
}

/**
 * Asserts that one of the lines is the proof.
 * @param place the subject of the error's sentence, in the plural: "The lines at …"
 * @throws ProofAbsent which says what was found instead
 */
function assertLinePresent<P extends PlacedProof>(
  { field, idOf, holder, noun }: NamedSubject<P>,
  lines: readonly string[],
  query: ProofQuery<P>,
  place: string,
): void {
  const { token } = query.proof
  const id = idOf(query.proof)
  const found = lines.map((line) => parseFields(line, field)).filter((fields) => fields !== null)
  const ours = found.filter((fields) => fields.get('token') === token)
  const named = ours.filter((fields) => fields.get(field) === id)
  const problems = named.map((fields) => problemOf(fields.get('expiry'), query))
  if (problems.includes(null)) return
  throw new ProofAbsent(`${place} hold ${describe()}.`)

  function describe(): string {
    if (named.length > 0) return `the token of ${holder} ${problems[0]}`
    if (ours.length > 0) return `the token of ${holder}, but for another ${noun}`
    if (found.some((fields) => fields.get(field) === id)) return `another token for this ${noun}`
    if (found.length > 0) return `nothing for this ${noun}, but for others`
    return `no line such as token=… ${field}=… expiry=…`
  }
}

function problemOf(
  expiry: string | undefined,
  { provenBy, now }: Pick<ProofQuery, 'provenBy' | 'now'>,
): string | null {
  return provenBy === null ? expiryProblem(expiry, now) : null
}

/** Parses the fields of a line. Returns null if it is not a line of this kind; a duplicate field makes it ambiguous. */
function parseFields(line: string, field: string): ReadonlyMap<string, string> | null {
  const fields = new Map<string, string>()
  for (const word of line.trim().split(/\s+/)) {
    const [key = '', value] = word.split(/=(.*)/s)
    if (value === undefined || fields.has(key)) return null
    fields.set(key, value)
  }
  return fields.has('token') && fields.has(field) ? fields : null
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
