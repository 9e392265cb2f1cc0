// SPDX-License-Identifier: Apache-2.0
//
// An MCP client built on the official SDK: initialize, tools/list, tools/call over streamable HTTP.
// Prints what its user would see; ends with 0 when the call was answered.
import {Client} from '@modelcontextprotocol/sdk/client/index.js';
import {StreamableHTTPClientTransport} from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const url = process.argv[2];
const secret = process.env.LIVE_SECRET || 'none';
const client = new Client({name: 'routelens-live', version: '1.0.0'});
const transport = new StreamableHTTPClientTransport(new URL(`${url}?token=${secret}`), {
  requestInit: {headers: {Authorization: `Bearer ${secret}`}},
});
const limit = setTimeout(() => {
  console.log('error: gave up after the time limit');
  process.exit(1);
}, Number(process.env.LIVE_LIMIT || '10') * 1000);

function reasons(error) {
  const found = [];
  for (let e = error; e && found.length < 4; e = e.cause) {
    found.push(e.code && !String(e.message).includes(e.code) ? `${e.message} (${e.code})`
                                                             : e.message);
  }
  return found.join(': ').replaceAll(secret.split('-')[0], '(hidden)').split('\n')[0];
}

try {
  await client.connect(transport);
  const {tools} = await client.listTools();
  console.log(`tools ${tools.length > 0 ? 'listed' : 'missing'}`);
  const result = await client.callTool({name: 'echo', arguments: {message: `hello ${secret}`}});
  console.log(`call ${result.isError ? 'failed' : 'answered'}`);
  if (process.argv[3] === '--end-session') await transport.terminateSession();
  await client.close();
} catch (error) {
  console.log(`error: ${reasons(error)}`);
  process.exitCode = 1;
}
clearTimeout(limit);
