import type { OwnerAgent } from '@countersign/protocol'
import { useEffect, useState } from 'react'
import { pathOf } from '../../agents/queries.ts'
import { useAgentCache } from '../../agents/use-agent-cache.ts'
import { request, send } from '../../api/client.ts'
import { toast } from '../../parts/toast.tsx'
import { useAction } from '../../parts/use-action.ts'
import { type Crop, middleOf } from './crop.ts'
import { usePicturePreview } from './picture-preview.ts'
import { type Picture, readPicture } from './read-picture.ts'

/** An agent's picture, while another one is being chosen for it. */
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
    setCrop(next && middleOf(next))
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
    toast('The picture is saved. Others see it so now.')
  })

  const removing = useAction(async () => {
    cache.put(await send<OwnerAgent>('DELETE', url))
    toast('The picture is removed. A pattern drawn from the DID stands in its place.')
  })

  return { picture, crop, setCrop, preview, choosing, uploading, removing, cancel: () => put(null) }
}

export type Avatar = ReturnType<typeof useAvatar>
