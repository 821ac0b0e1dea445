import { openaiWire } from '../../simulators/openai.ts'
import { picture, testNetworkProvider } from './contract.ts'
import { openai } from './openai.ts'

const request = {
  ...{ model: 'film', prompt: 'a red fox', seconds: 4, size: { width: 1280, height: 720 }, parameters: { seed: 7 } },
  image: null,
}
const requests = [request, { ...request, prompt: 'a red fox, from a picture', image: picture }] as const

for (const dialect of ['openai', 'vllm-omni', 'sglang'] as const)
  testNetworkProvider(`openai (${dialect})`, {
    ...{ member: openai, path: '/v1', key: 'sk-test-1234567890', requests },
    wire: () => openaiWire(dialect),
    without: {
      'poll-status-expired': 'gateways do say so, of what has failed',
      ...(dialect === 'sglang' && { 'poll-policy': 'it never says why' }),
    },
  })
