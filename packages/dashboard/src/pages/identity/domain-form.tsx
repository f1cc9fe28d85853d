import type { OrganisationDomain } from '@countersign/protocol'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { send } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { Dialog, DialogActions } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { TextField } from '../../components/field.tsx'
import { submitHandler } from '../../components/submit-handler.ts'
import { useAction } from '../../components/use-action.ts'
import { DOMAIN_PATH, domainQuery } from './domain-queries.ts'

interface DomainFormProps {
  /** Set if there is a domain, which another one is to replace. */
  readonly current?: string
  readonly onClose?: () => void
}

/** Sets the domain: in the page for the first one, in a dialog for another one. */
export function DomainForm({ current, onClose }: DomainFormProps) {
  const queries = useQueryClient()
  const [domain, setDomain] = useState('')
  const set = useAction(async () => {
    const result = await send<OrganisationDomain>('PUT', DOMAIN_PATH, { domain: domain.trim() })
    onClose?.()
    queries.setQueryData(domainQuery.queryKey, result)
  })
  const form = (
    <form onSubmit={submitHandler(set.run)} className="flex flex-col gap-4">
      <TextField
        label={current === undefined ? 'Domain' : 'New domain'}
        hint="A domain that you control, such as example.com."
        value={domain}
        onChange={(event) => setDomain(event.target.value)}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        maxLength={512}
        required
      />
      <ErrorNote error={set.error} />
      {current === undefined ? (
        <Button type="submit" variant="primary" className="self-start" pending={set.pending}>
          Set the domain
        </Button>
      ) : (
        <DialogActions>
          <Button type="submit" variant="primary" pending={set.pending}>
            Set the domain
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </DialogActions>
      )}
    </form>
  )
  if (current === undefined || onClose === undefined) return form
  return (
    <Dialog
      open
      onClose={onClose}
      title="Change domain"
      description={`${current} counts until the new domain is proven, for 14 days at most. It is no longer checked.`}
    >
      {form}
    </Dialog>
  )
}
