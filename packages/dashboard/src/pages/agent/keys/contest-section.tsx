import { useState } from 'react'
import { Button } from '../../../components/button.tsx'
import { DateTime } from '../../../components/date-time.tsx'
import { Section } from '../../../components/page.tsx'
import { ContestDialog } from './contest-dialog.tsx'
import type { ContestProps } from './contestable.ts'

/** Contests the rotations of the last 72 hours. */
export function ContestSection(props: ContestProps) {
  const [open, setOpen] = useState(false)
  const [{ key, until }] = props.contestable
  return (
    <Section
      title="The key was replaced"
      lead={
        <>
          The agent replaced key {key.sequence}
          {key.until !== null && (
            <>
              {' '}
              on <DateTime at={key.until} as="minute" />
            </>
          )}
          . If you did not expect this, contest it before{' '}
          <DateTime at={new Date(until).toISOString()} as="minute" />.
        </>
      }
    >
      <Button variant="warning" className="self-start" onClick={() => setOpen(true)}>
        Contest …
      </Button>
      <ContestDialog {...props} open={open} onClose={() => setOpen(false)} />
    </Section>
  )
}
