import type { OwnerAgent } from '@countersign/protocol'
import { useQuery } from '@tanstack/react-query'
import { keysQuery } from '../../agents/queries.ts'
import { DateTime } from '../../components/date-time.tsx'
import { Note } from '../../components/error-note.tsx'

interface OwnerChangedNoteProps {
  readonly did: string
  readonly agent: OwnerAgent
}

/** Says that a former owner may have the key of an agent, until it is rotated. */
export function OwnerChangedNote({ did, agent }: OwnerChangedNoteProps) {
  const { ownerChangedAt, status } = agent
  const key = useQuery(keysQuery(did)).data?.keys.at(-1)
  if (ownerChangedAt === null || status === 'revoked' || key === undefined) return null
  if (Date.parse(key.from) >= Date.parse(ownerChangedAt)) return null
  return (
    <Note tone="warn">
      <p className="max-w-2xl text-pretty">
        <strong className="font-semibold">The key is older than this owner.</strong> The agent moved
        here on <DateTime at={ownerChangedAt} />, and the former owner may still have its key.{' '}
        <a href="/docs/key-recovery" className="underline">
          Rotate the key
        </a>
        .
      </p>
    </Note>
  )
}
