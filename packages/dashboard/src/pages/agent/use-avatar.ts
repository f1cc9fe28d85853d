import type { OwnerAgent } from '@countersign/protocol'
import { useEffect, useState } from 'react'
import { pathOf } from '../../agents/queries.ts'
import { useAgentCache } from '../../agents/use-agent-cache.ts'
import { request, send } from '../../api/client.ts'
import { toast } from '../../components/toast.tsx'
import { useAction } from '../../components/use-action.ts'
import { type Crop, centredCrop } from './crop.ts'
import { type Picture, readPicture } from './read-picture.ts'

/** State of an agent's picture while the owner selects a new one. */
export function useAvatar(did: string) {
  const cache = useAgentCache(did)
  const [picture, setPicture] = useState<Picture | null>(null)
  const [crop, setCrop] = useState<Crop | null>(null)
  const preview = usePicturePreview(picture, crop)
  const url = `${pathOf(did)}/avatar`

  useEffect(() => {
    if (picture !== null) return () => URL.revokeObjectURL(picture.url)
  }, [picture])

  function put(next: Picture | null) {
    setPicture(next)
    setCrop(next && centredCrop(next))
  }

  const choosing = useAction(async (file: File) => {
    put(await readPicture(file))
  })

  const uploading = useAction(async () => {
    if (picture === null || crop === null) return
    const { file } = picture
    const { x, y, size } = crop
    cache.put(
      await request<OwnerAgent>(`${url}?crop=${x},${y},${size}`, {
        method: 'PUT',
        headers: { 'content-type': file.type },
        body: file,
      }),
    )
    put(null)
    toast('Picture saved. The certificate shows it now.')
  })

  const removing = useAction(async () => {
    cache.put(await send<OwnerAgent>('DELETE', url))
    toast('Picture removed. A pattern generated from the DID replaces it.')
  })

  return { picture, crop, setCrop, preview, choosing, uploading, removing, cancel: () => put(null) }
}

export type Avatar = ReturnType<typeof useAvatar>

const PREVIEW_SIZE = 192

/**
 * Renders the crop for the card's preview.
 * @returns null if there is no picture
 */
function usePicturePreview(picture: Picture | null, crop: Crop | null): string | null {
  const [preview, setPreview] = useState<string | null>(null)
  useEffect(() => {
    if (picture === null || crop === null) return setPreview(null)
    // Renders at most once per animation frame.
    const frame = requestAnimationFrame(() => setPreview(renderCrop(picture, crop)))
    return () => cancelAnimationFrame(frame)
  }, [picture, crop])
  return preview
}

function renderCrop({ image }: Picture, { x, y, size }: Crop): string | null {
  const canvas = document.createElement('canvas')
  canvas.width = PREVIEW_SIZE
  canvas.height = PREVIEW_SIZE
  const context = canvas.getContext('2d')
  if (context === null) return null
  context.drawImage(image, x, y, size, size, 0, 0, PREVIEW_SIZE, PREVIEW_SIZE)
  return canvas.toDataURL('image/png')
}
