import type { ProofMethodInWords } from '@countersign/protocol'
import { type Perspective, ProofAbsent } from '../../core/network/perspective.ts'
import type { ChannelKind, Found, Proof, Wanted } from './kind.ts'

const FRESH_FOR_MS = 90 * 24 * 3_600_000

/** A place in which an account of a platform can show a proof. */
export interface Place {
  readonly id: string
  readonly title: string
  /** In words that follow "in": `the bio of GitHub`. */
  readonly name: string
  /** Where exactly the text goes, in a sentence. */
  readonly step: string
  /**
   * Reads what the account itself shows there.
   * @returns its texts
   * @throws ProofAbsent where there is no such account, Unreachable where nobody knows
   */
  read(from: Perspective, handle: string): Promise<readonly string[]>
}

type Own = Pick<ChannelKind, 'id' | 'label' | 'proves' | 'field' | 'parse' | 'link'>

/** A kind of channel that is an account on a platform where one can chat: tier 1, proven by a text that it shows. */
export function chatKind(own: Own, places: readonly Place[]): ChannelKind {
  return {
    ...own,
    tier: 1,
    chat: true,
    freshForMs: FRESH_FOR_MS,
    methods: (proof) => places.map((place) => inWords(place, proofText(proof))),
    check: { agreement: 'first', look: (from, wanted) => look(own.label, places, from, wanted) },
  }
}

function inWords({ id, title, step }: Place, text: string): ProofMethodInWords {
  const leave = 'Leave it there: it is looked for every day.'
  return {
    id,
    title,
    step: `${step} ${leave}`,
    fields: [{ label: 'Text', value: text, multiline: false }],
  }
}

async function look(
  label: string,
  places: readonly Place[],
  from: Perspective,
  { proof, provenBy }: Wanted,
): Promise<Found> {
  const searched = places.filter(({ id }) => provenBy === null || id === provenBy)
  for (const place of searched) {
    const texts = await place.read(from, proof.handle)
    if (standsIn(texts, proofText(proof))) {
      return { method: place.id, detail: `The text stands in ${place.name}.` }
    }
  }
  const names = searched.map(({ name }) => name).join(' or ')
  throw new ProofAbsent(`${label} shows the account, but the text does not stand in ${names}.`)
}

/**
 * The text that an account shows to prove that it is the agent's. At most 70 characters, which is what a bio holds on
 * Telegram, and nothing in it of which a platform makes a link, a mention or a hashtag.
 */
export function proofText({ naming, did, token }: Proof): string {
  return `${naming.shortName}-proof:${did.slice(naming.didPrefix.length)}-${token}`
}

// What people write around a text that they copy: brackets, quotes, a full stop, a bar between two things. Of no such
// sign more than a few, so that a text full of them costs no time.
const OPENING = '[(\\[{<"\'“‘„«]{0,4}'
const CLOSING = '[)\\]}>"\'”’“»,;.!?]{0,4}'
const GAP = '[\\s|·•]'

/**
 * Whether one of the texts holds the wanted one by itself: not as a part of a longer word, an address or another proof.
 * @param wanted letters, digits, `-` and `:` alone
 */
export function standsIn(texts: readonly string[], wanted: string): boolean {
  const alone = new RegExp(`(?<=(?:^|${GAP})${OPENING})${wanted}(?=${CLOSING}(?:$|${GAP}))`, 'u')
  return texts.some((text) => alone.test(text))
}
