import { NotThere, OutOfReach, type Perspective } from '../../core/network/perspective.ts'
import { challengeLine, requireLine } from './challenge-line.ts'
import { DOMAIN_FIELD, parseDomain } from './domain-name.ts'
import type { ChannelKind, Found, Proof, Wanted } from './kind.ts'
import { fetchWellKnown, wellKnownUrl } from './well-known.ts'

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
  const misses: (NotThere | OutOfReach)[] = []
  for (const { method, find } of PLACES) {
    if (provenBy !== null && provenBy !== method) continue
    try {
      return { method, detail: await find(from, wanted) }
    } catch (error) {
      if (!(error instanceof NotThere || error instanceof OutOfReach)) throw error
      misses.push(error)
    }
  }
  const detail = misses.map(({ message }) => message).join(' ')
  throw misses.every((miss) => miss instanceof NotThere)
    ? new NotThere(detail)
    : new OutOfReach(detail)
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
