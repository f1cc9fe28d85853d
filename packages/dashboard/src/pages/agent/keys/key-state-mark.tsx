import type { Key } from './contestable.ts'

const WORDS: Readonly<Record<Key['state'], string>> = {
  current: 'Current',
  retired: 'Retired',
  renounced: 'Renounced',
  compromised: 'Compromised',
  lost: 'Lost in a restore',
}

const PILLS: Readonly<Record<Key['state'], string>> = {
  current: 'bg-good-wash text-good',
  retired: 'bg-sunken text-soft',
  renounced: 'bg-sunken text-soft',
  compromised: 'bg-bad text-on-bad',
  lost: 'bg-sunken text-soft',
}

/** The state of a key, as text and colour. */
export function KeyStateMark({ state }: Pick<Key, 'state'>) {
  return (
    <span
      className={`inline-flex items-center whitespace-nowrap rounded-full px-2.5 py-1 font-semibold text-sm leading-none ${PILLS[state]}`}
    >
      {WORDS[state]}
    </span>
  )
}
