import type { ChannelKindInWords, OwnerChannel } from '@countersign/protocol'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { ApiError, send } from '../../api/client.ts'
import { channelsPath } from '../../channels/queries.ts'
import { useChannelCache } from '../../channels/use-channel-cache.ts'
import { Button } from '../../parts/button.tsx'
import { ErrorNote } from '../../parts/error-note.tsx'
import { TextField } from '../../parts/field.tsx'
import { submits } from '../../parts/submits.ts'
import { useAction } from '../../parts/use-action.ts'

const LONGEST = 512

interface HandleFormProps {
  readonly did: string
  readonly kind: ChannelKindInWords
}

/** Asks for the place; what is wrong with it, the service says. */
export function HandleForm({ did, kind }: HandleFormProps) {
  const { label, placeholder, hint } = kind.field
  const cache = useChannelCache(did)
  const navigate = useNavigate()
  const [handle, setHandle] = useState('')
  const [refused, setRefused] = useState<string | null>(null)

  const adding = useAction(async () => {
    const body = { kind: kind.id, handleOrDomain: handle.trim() }
    try {
      const channel = await send<OwnerChannel>('POST', channelsPath(did), body)
      void cache.put(channel)
      await navigate({
        to: '/agents/$did/channels/$channel',
        params: { did, channel: channel.id },
      })
    } catch (error) {
      if (!(error instanceof ApiError && error.code === 'VALIDATION_ERROR')) throw error
      setRefused(error.message)
    }
  })

  return (
    <form onSubmit={submits(adding.run)} className="flex flex-col gap-4">
      <TextField
        label={label}
        hint={hint}
        placeholder={placeholder}
        error={refused}
        value={handle}
        onChange={({ target }) => {
          setHandle(target.value)
          setRefused(null)
        }}
        maxLength={LONGEST}
        pattern=".*\S.*"
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        required
      />
      <ErrorNote error={adding.error} />
      <Button type="submit" variant="primary" pending={adding.pending} className="sm:self-start">
        Show what to place
      </Button>
    </form>
  )
}
