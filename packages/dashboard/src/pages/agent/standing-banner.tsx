import type { OwnerAgent } from '@countersign/protocol'
import { StatusIcon } from '@countersign/ui'

const WORDS = {
  suspended: ['Suspended', 'Nobody is told that this agent is verified at the moment.'],
  revoked: [
    'Revoked',
    'This certificate is void, for good. Nothing can be changed in it any more.',
  ],
} as const

const TONES = {
  suspended: 'border-warn bg-warn-wash text-warn',
  revoked: 'border-transparent bg-bad text-on-bad',
} as const

/** Over everything else: nobody takes the page of a certificate that does not hold for that of one that does. */
export function StandingBanner({ status }: Pick<OwnerAgent, 'status'>) {
  if (status === 'active') return null
  const [word, sentence] = WORDS[status]
  return (
    <div className={`flex items-center gap-4 rounded-2xl border-2 px-5 py-4 ${TONES[status]}`}>
      <StatusIcon status={status} className="size-9 shrink-0" />
      <p>
        <strong className="block font-bold text-2xl tracking-tight">{word}</strong>
        {sentence}
      </p>
    </div>
  )
}
