import type { ChannelKindInWords, OwnerChannel } from '@countersign/protocol'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { ApiError, send } from '../../api/client.ts'
import { channelsPath } from '../../channels/queries.ts'
import { useChannelCache } from '../../channels/use-channel-cache.ts'
import { Button } from '../../components/button.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { TextField } from '../../components/field.tsx'
import { submitHandler } from '../../components/submit-handler.ts'
import { useAction } from '../../components/use-action.ts'

const MAX_LENGTH = 512

interface HandleFormProps {
  readonly did: string
  readonly kind: ChannelKindInWords
}

/** Enters the handle or domain. The service validates it. */
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
    <form onSubmit={submitHandler(adding.run)} className="flex flex-col gap-4">
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
        maxLength={MAX_LENGTH}
        pattern=".*\S.*"
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        required
      />
      <ErrorNote error={adding.error} />
      <Button type="submit" variant="primary" pending={adding.pending} className="sm:self-start">
        {kind.provenBy === 'agent' ? 'Show the command' : 'Show what to publish'}
      </Button>
    </form>
  )
}
