// SPDX-License-Identifier: Apache-2.0
//
// Node's own https module: one request for each URL. Prints "status N" or "error: ...".
// With --file F: all the URLs in F at once, on this one thread.
'use strict';
const dns = require('dns');
const fs = require('fs');
const http = require('http');
const https = require('https');

const secret = process.env.LIVE_SECRET || 'none';
const options = {timeout: 10000, method: 'GET', headers: {}};
const urls = [];
let pause = 0;
let parallel = false;

const args = process.argv.slice(2);
for (let i = 0; i < args.length; i++) {
  if (args[i] === '--ca') options.ca = fs.readFileSync(args[++i]);
  else if (args[i] === '--insecure') options.rejectUnauthorized = false;
  else if (args[i] === '--max-tls12') options.maxVersion = 'TLSv1.2';
  else if (args[i] === '--alpn') options.ALPNProtocols = args[++i].split(',');
  else if (args[i] === '--timeout') options.timeout = Number(args[++i]) * 1000;
  else if (args[i] === '--method') options.method = args[++i];
  else if (args[i] === '--pause') pause = Number(args[++i]) * 1000;
  else if (args[i] === '--keep-alive') options.keep = true;
  else if (args[i] === '--c-ares') {
    // Asks by Node's own c-ares instead of getaddrinfo.
    const resolver = new dns.Resolver({timeout: 2000, tries: 2});
    options.lookup = (host, how, done) => resolver.resolve4(host, (error, found) => {
      if (error) done(error);
      else if (how.all) done(null, found.map((address) => ({address, family: 4})));
      else done(null, found[0], 4);
    });
  } else if (args[i] === '--file') {
    parallel = true;
    urls.push(...fs.readFileSync(args[++i], 'ascii').trim().split(/\s+/));
  } else urls.push(args[i]);
}
const agents = {
  http: new http.Agent({keepAlive: !!options.keep, maxSockets: Infinity}),
  https: new https.Agent({keepAlive: !!options.keep, maxSockets: Infinity}),
};

function ask(url) {
  return new Promise((resolve) => {
    const secure = url.startsWith('https:');
    const request = (secure ? https : http).request(`${url}?token=${secret}`, {
      ...options,
      agent: secure ? agents.https : agents.http,
      headers: {Authorization: `Bearer ${secret}`, Cookie: `id=${secret}`},
    });
    request.on('timeout', () => request.destroy(new Error('timed out')));
    request.on('error', (error) => resolve(`error: ${error.code || ''} ${error.message}`));
    request.on('response', (response) => {
      response.on('error', () => {});
      response.resume();
      response.on('close', () => resolve(`status ${response.statusCode}`));
    });
    request.end(options.method === 'POST' ? `{"secret":"${secret}"}` : undefined);
  });
}

async function main() {
  let failed = false;
  if (parallel) {
    await Promise.all(urls.map(async (url) => console.log(url, await ask(url))));
  } else {
    for (let i = 0; i < urls.length; i++) {
      if (i && pause) await new Promise((resolve) => setTimeout(resolve, pause));
      const said = await ask(urls[i]);
      failed = failed || said.startsWith('error');
      console.log(said);
    }
  }
  for (const agent of Object.values(agents)) agent.destroy();
  process.exitCode = failed ? 1 : 0;
}
main();
