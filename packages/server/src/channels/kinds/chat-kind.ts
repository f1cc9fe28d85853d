import type { ProofMethodInWords } from '@countersign/protocol'
import { type Perspective, ProofAbsent } from '../../http/outbound/perspective.ts'
import type { ChannelKind, FoundProof, Proof, ProofQuery } from './kind.ts'

const FRESH_FOR_MS = 90 * 24 * 3_600_000

/** A part of an account's profile that can hold the proof text. */
export interface ProfileLocation {
  readonly id: string
  readonly title: string
  /** For sentences such as "The text stands in {name}." */
  readonly name: string
  /** Instructions for placing the text, as a sentence. */
  readonly step: string
  /**
   * Reads the texts that the account shows there.
   * @throws ProofAbsent if there is no such account, Unreachable if the platform gives no usable answer
   */
  read(from: Perspective, handle: string): Promise<readonly string[]>
}

type Platform = Pick<ChannelKind, 'id' | 'label' | 'proves' | 'field' | 'parse' | 'link'>

/** Makes a kind of channel for accounts on a chat platform: tier 1, proven by a text in the profile. */
export function chatKind(platform: Platform, locations: readonly ProfileLocation[]): ChannelKind {
  return {
    ...platform,
    tier: 1,
    chat: true,
    freshForMs: FRESH_FOR_MS,
    methods: (proof) => locations.map((each) => describeMethod(each, proofText(proof))),
    check: {
      agreement: 'first',
      observe: (from, query) => observe(platform.label, locations, from, query),
    },
  }
}

function describeMethod({ id, title, step }: ProfileLocation, text: string): ProofMethodInWords {
  const leave = 'Leave it there, because it is checked daily.'
  return {
    id,
    title,
    step: `${step} ${leave}`,
    fields: [{ label: 'Text', value: text, multiline: false }],
  }
}

async function observe(
  label: string,
  locations: readonly ProfileLocation[],
  from: Perspective,
  { proof, provenBy }: ProofQuery,
): Promise<FoundProof> {
  const searched = locations.filter(({ id }) => provenBy === null || id === provenBy)
  for (const location of searched) {
    const texts = await location.read(from, proof.handle)
    if (containsProof(texts, proofText(proof))) {
      return { method: location.id, detail: `The text stands in ${location.name}.` }
    }
  }
  const names = searched.map(({ name }) => name).join(' or ')
  throw new ProofAbsent(`${label} shows the account, but the text does not stand in ${names}.`)
}

/**
 * The text that an account shows to prove that it belongs to the agent. At most 70 characters, the limit of a Telegram bio,
 * and without characters that platforms turn into links, mentions or hashtags.
 */
export function proofText({ naming, did, token }: Proof): string {
  return `${naming.shortName}-proof:${did.slice(naming.didPrefix.length)}-${token}`
}

// Characters that may surround the text: brackets, quotes, punctuation, separators. At most four in a row, so that a text
// made of them cannot cause excessive backtracking.
const OPENING = '[(\\[{<"\'“‘„«]{0,4}'
const CLOSING = '[)\\]}>"\'”’“»,;.!?]{0,4}'
const GAP = '[\\s|·•]'

/**
 * Whether one of the texts contains the proof on its own, not as part of a longer word, a URL or another proof.
 * @param proof only letters, digits, `-` and `:`
 */
export function containsProof(texts: readonly string[], proof: string): boolean {
  const alone = new RegExp(`(?<=(?:^|${GAP})${OPENING})${proof}(?=${CLOSING}(?:$|${GAP}))`, 'u')
  return texts.some((text) => alone.test(text))
}
