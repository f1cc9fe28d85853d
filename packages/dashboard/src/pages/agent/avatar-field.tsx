import type { OwnerAgent } from '@countersign/protocol'
import { type DragEvent, useEffect, useId, useRef, useState } from 'react'
import { AgentPicture } from '../../agents/agent-picture.tsx'
import { Button, buttonClass } from '../../components/button.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { Cropper } from './cropper.tsx'
import { PICTURE_TYPES } from './read-picture.ts'
import type { Avatar } from './use-avatar.ts'

interface AvatarFieldProps {
  readonly agent: OwnerAgent
  readonly avatar: Avatar
}

/** Selects a picture by file dialog or drag and drop, then crops it. */
export function AvatarField({ agent, avatar }: AvatarFieldProps) {
  const { picture, choosing } = avatar
  const [dragging, setDragging] = useState(false)

  function onDrop(event: DragEvent) {
    event.preventDefault()
    setDragging(false)
    const file = event.dataTransfer.files[0]
    if (file) choosing.run(file)
  }

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: dropping is for pointers; the file input does the same
    <div
      onDragOver={(event) => {
        event.preventDefault()
        setDragging(true)
      }}
      onDragLeave={() => setDragging(false)}
      onDrop={onDrop}
      className={`flex flex-col gap-4 rounded-xl border border-dashed p-4 sm:p-5 ${dragging ? 'border-accent bg-accent-wash' : 'border-line-strong'}`}
    >
      {picture === null ? (
        <CurrentPicture agent={agent} avatar={avatar} />
      ) : (
        <CropEditor key={picture.url} avatar={avatar} />
      )}
      <ErrorNote error={choosing.error ?? avatar.uploading.error ?? avatar.removing.error} />
    </div>
  )
}

function CurrentPicture({ agent, avatar: { choosing, removing } }: AvatarFieldProps) {
  const id = useId()
  const input = useRef<HTMLInputElement>(null)
  return (
    <div className="flex flex-wrap items-center gap-x-5 gap-y-4">
      <AgentPicture
        src={agent.avatarUrl}
        status={agent.status}
        className="size-20 rounded-2xl sm:size-24"
      />
      <div className="flex min-w-0 flex-1 basis-56 flex-col gap-2">
        <div className="flex flex-wrap gap-3">
          <span className="relative">
            <input
              ref={input}
              id={id}
              type="file"
              accept={PICTURE_TYPES.join(',')}
              aria-describedby={`${id}-hint`}
              className="peer sr-only"
              onChange={({ target }) => {
                const file = target.files?.[0]
                // Allows selecting the same file again.
                target.value = ''
                if (file) choosing.run(file)
              }}
            />
            <label
              htmlFor={id}
              className={`${buttonClass('secondary', 'small')} peer-focus-visible:outline-3 peer-focus-visible:outline-accent peer-focus-visible:outline-offset-2`}
            >
              {agent.hasAvatar ? 'Choose another picture' : 'Choose a picture'}
            </label>
          </span>
          {agent.hasAvatar && (
            <Button
              size="small"
              variant="quiet"
              pending={removing.pending}
              onClick={() => {
                input.current?.focus()
                removing.run()
              }}
            >
              Remove the picture
            </Button>
          )}
        </div>
        <p id={`${id}-hint`} className="text-pretty text-soft text-sm">
          Or drop one here: PNG, JPEG or WebP, at most 5 MiB. Metadata such as the location is
          removed.
        </p>
      </div>
    </div>
  )
}

function CropEditor({ avatar }: { readonly avatar: Avatar }) {
  const { picture, crop, setCrop, uploading, cancel } = avatar
  const group = useRef<HTMLFieldSetElement>(null)

  useEffect(() => {
    group.current?.scrollIntoView({ block: 'nearest' })
  }, [])

  if (picture === null || crop === null) return null
  return (
    <fieldset ref={group} className="flex flex-col gap-4">
      <legend className="mb-3 font-medium">Visible part of the picture</legend>
      <Cropper picture={picture} crop={crop} onChange={setCrop} />
      <div className="flex flex-wrap gap-3">
        <Button variant="primary" pending={uploading.pending} onClick={uploading.run}>
          Use this picture
        </Button>
        <Button onClick={cancel}>Cancel</Button>
      </div>
    </fieldset>
  )
}
