import type { OwnerAgent } from '@countersign/protocol'
import { StatusIcon } from '@countersign/ui'

const TEXTS = {
  suspended: ['Suspended', 'Lookups answer “verified: false” until the suspension ends.'],
  revoked: ['Revoked', 'The certificate is permanently invalid.'],
} as const

const TONES = {
  suspended: 'border-warn bg-warn-wash text-warn',
  revoked: 'border-transparent bg-bad text-on-bad',
} as const

/** Makes it obvious that the certificate is not valid. */
export function StatusBanner({ status }: Pick<OwnerAgent, 'status'>) {
  if (status === 'active') return null
  const [title, sentence] = TEXTS[status]
  return (
    <div className={`flex items-center gap-4 rounded-2xl border-2 px-5 py-4 ${TONES[status]}`}>
      <StatusIcon status={status} className="size-9 shrink-0" />
      <p>
        <strong className="block font-bold text-2xl tracking-tight">{title}</strong>
        {sentence}
      </p>
    </div>
  )
}
