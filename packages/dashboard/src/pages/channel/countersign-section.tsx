import type { CountersignedCard, OwnerChannel } from '@countersign/protocol'
import { useState } from 'react'
import { send } from '../../api/client.ts'
import { channelPath } from '../../channels/queries.ts'
import { Button } from '../../components/button.tsx'
import { CopyField } from '../../components/copy-field.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { saveFile } from '../../components/save-file.ts'
import { SheetSection } from '../../components/sheet.tsx'
import { useAction } from '../../components/use-action.ts'

interface CountersignSectionProps {
  readonly did: string
  readonly channel: OwnerChannel
}

/** Lets the service countersign the published agent card of a verified agent-to-agent channel. */
export function CountersignSection({
  did,
  channel: { id, handleOrDomain },
}: CountersignSectionProps) {
  const [text, setText] = useState<string | null>(null)
  const countersigning = useAction(async () => {
    setText(null)
    const { card } = await send<CountersignedCard>('POST', `${channelPath(did, id)}/countersign`)
    setText(JSON.stringify(card, null, 2))
  })
  return (
    <SheetSection
      title="Countersign the agent card"
      lead="Other agents can then verify with their A2A software that this service confirms the card."
    >
      <p className="text-pretty">
        The service fetches the card that {handleOrDomain} publishes and adds its signature. Publish
        the result in place of the card. The signature is valid while the agent is active and this
        channel is verified. Repeat this after every change of the card.
      </p>
      <Button
        pending={countersigning.pending}
        onClick={countersigning.run}
        className="sm:self-start"
      >
        Countersign agent card
      </Button>
      <ErrorNote error={countersigning.error} />
      {text !== null && (
        <>
          <CopyField label="Countersigned card" value={text} lines />
          <Button
            size="small"
            onClick={() => saveFile('agent-card.json', `${text}\n`, 'application/json')}
            className="self-start"
          >
            Download agent-card.json
          </Button>
        </>
      )}
    </SheetSection>
  )
}
