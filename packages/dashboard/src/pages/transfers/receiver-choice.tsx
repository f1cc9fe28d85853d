import { useQuery } from '@tanstack/react-query'
import { organisation } from '../../api/acting-for.ts'
import { sessionQuery } from '../../api/queries.ts'
import { Choice } from '../../components/choice.tsx'
import { TextField } from '../../components/field.tsx'

/** Who gets the agents. */
export interface Receiver {
  readonly username: string
  /** Whether it is an organisation of the person who gives agents of their own account: those move at once. */
  readonly isOwn: boolean
}

/** The organisations to which a person can move their own agents without being accepted: those of which they are an admin. */
export function useOwnReceivers() {
  const organisations = useQuery(sessionQuery).data?.organisations ?? []
  return organisation === null ? organisations.filter(({ role }) => role === 'admin') : []
}

interface ReceiverChoiceProps {
  readonly own: ReturnType<typeof useOwnReceivers>
  readonly receiver: Receiver
  readonly onChange: (receiver: Receiver) => void
}

export function ReceiverChoice({ own, receiver, onChange }: ReceiverChoiceProps) {
  return (
    <>
      {own.length > 0 && (
        <fieldset className="flex flex-col">
          <legend className="mb-1 font-medium">To whom</legend>
          {own.map(({ username, displayName }) => (
            <Choice
              key={username}
              label={displayName}
              isChosen={receiver.isOwn && receiver.username === username}
              onChoose={() => onChange({ username, isOwn: true })}
            >
              @{username}, your organisation. The agents move at once.
            </Choice>
          ))}
          <Choice
            label="Another owner"
            isChosen={!receiver.isOwn}
            onChoose={() => onChange({ username: '', isOwn: false })}
          >
            A person or an organisation, who has to accept.
          </Choice>
        </fieldset>
      )}
      {!receiver.isOwn && (
        <TextField
          label="Username of the receiver"
          hint="Of a person or an organisation, such as acme. They have 7 days to accept."
          value={receiver.username}
          onChange={({ target }) => onChange({ username: target.value, isOwn: false })}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          maxLength={64}
          required
        />
      )}
    </>
  )
}
