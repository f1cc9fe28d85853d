import type { ProofMethodInWords } from '@countersign/protocol'
import { NotThere, type Perspective } from '../../core/network/perspective.ts'
import type { ChannelKind, Found, Wanted } from './kind.ts'
import { proofText, standsIn } from './proof-text.ts'

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
   * @throws NotThere where there is no such account, OutOfReach where nobody knows
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
  throw new NotThere(`${label} shows the account, but the text does not stand in ${names}.`)
}
