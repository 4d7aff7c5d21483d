/* SPDX-License-Identifier: GPL-2.0 */
/* Configuration and live state as JSON. */
#ifndef ISTRIPECTL_JSON_OUT_H
#define ISTRIPECTL_JSON_OUT_H

#include <json-c/json.h>

#include "live.h"
#include "model.h"

/**
 * json_volume() - a volume's configuration
 * @volume: what to show; what cannot be read is left out
 *
 * Return: a new object.
 */
struct json_object *json_volume(const struct volume *volume);

/**
 * json_live() - add what sysfs says
 * @object: where to
 * @live: what to show; null for what cannot be read just now
 */
void json_live(struct json_object *object, const struct live *live);

/**
 * json_text() - add a text
 * @object: where to
 * @name: of the member
 * @text: what to add; NULL or empty: null
 */
void json_text(struct json_object *object, const char *name, const char *text);

/**
 * json_print() - print {"volumes": [...]} and free it
 * @volumes: the array
 */
void json_print(struct json_object *volumes);

#endif
